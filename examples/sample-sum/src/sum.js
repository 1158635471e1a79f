/** Adds up numbers, given as numbers or as text (a form field, a CSV cell). */
export function sum(...values) {
  return values.reduce((total, value) => total + value, '');
}
