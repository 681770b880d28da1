/** Number of calls that a record represents: its `count`, or 1. */
export function callsOf({ message, count }: { readonly message?: unknown; readonly count?: unknown }): number {
  return message === 'tools/call' && typeof count === 'number' && Number.isSafeInteger(count) && count > 1 ? count : 1
}
