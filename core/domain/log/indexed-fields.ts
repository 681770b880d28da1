/** Fields of a record that may have an index in the store, for queries by hand. */
export const INDEXED_FIELDS = [
  'timestamp',
  'level',
  'server',
  'tool',
  'status',
  'userId',
  'requestId',
  'outcome',
] as const
