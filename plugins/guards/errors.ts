import type { ErrorKind } from 'patchbay/contract'

/** The error codes of guards. */
export const ERRORS = {
  guard_refused: {
    status: 422,
    title: 'A rule refuses this content',
    remedy: 'Leave out what the message names, or ask the owner of the rule.',
    rpc: -32602,
  },
  guard_not_found: {
    status: 404,
    title: 'No such rule',
    remedy: 'GET the rules of this server, group or hub first.',
  },
} as const satisfies Record<string, ErrorKind>
