/** How many calls a record stands for: `count` of a record of calls, 1 for any other record. */
export function callsOf({ message, count }: { readonly message?: unknown; readonly count?: unknown }): number {
  return message === 'tools/call' && typeof count === 'number' && Number.isSafeInteger(count) && count > 1 ? count : 1
}
