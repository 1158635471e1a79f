import * as fc from 'fast-check';

/** Checks a synchronous property. `fc.assert` is typed for both kinds, so every use of it looks like a lost promise. */
export function holds<Values>(property: fc.IProperty<Values>, parameters: fc.Parameters<Values> = {}): void {
  void fc.assert(property, { numRuns: 60, ...parameters });
}
