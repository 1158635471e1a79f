/** Ids of calls in one request: the provider's own where it is valid and new, else the intent's, which always is. */
const VALID = /^[a-zA-Z0-9_-]{1,64}$/;

export interface CallIds {
  /** Id of a call, in the order in which calls appear. */
  of(call: { readonly intent: string; readonly providerRef: string }): string;
  /** Id given to the call of an intent. */
  find(intent: string): string;
}

export function createCallIds(): CallIds {
  const byIntent = new Map<string, string>();
  const taken = new Set<string>();
  return {
    of({ intent, providerRef }) {
      const id = VALID.test(providerRef) && !taken.has(providerRef) ? providerRef : intent;
      taken.add(id);
      byIntent.set(intent, id);
      return id;
    },
    find: (intent) => byIntent.get(intent) ?? intent,
  };
}
