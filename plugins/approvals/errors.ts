import type { ErrorKind } from 'patchbay/contract'

/** The codes of this plugin. */
export const ERRORS: Readonly<Record<string, ErrorKind>> = {
  approval_denied: {
    status: 403,
    title: 'The call was not allowed',
    remedy: 'Do without this call, or ask the one who decides before you try it again.',
    rpc: -32603,
  },
  approval_pending: {
    status: 409,
    title: 'The call waits for a person',
    remedy: 'Open the page of the error, decide there, and send the same call again.',
    rpc: -32603,
    retry: true,
  },
  approval_decided: {
    status: 409,
    title: 'The request was decided already',
    remedy: 'Look at the request: it has been decided, or nobody decided in time.',
  },
  approval_not_found: {
    status: 404,
    title: 'There is no such request',
    remedy: 'List the requests that wait for you.',
  },
  approval_foreign: {
    status: 403,
    title: 'Somebody else decides this request',
    remedy: 'Sign in to the console as the one who decides; access keys cannot do it.',
  },
}

/** Limits of what the plugin keeps, by their names in the settings. */
export const LIMITS = {
  /** Requests of one caller that wait for a decision. */
  pendingApprovalsPerUser: 16,
  /** The same of all callers together. */
  pendingApprovals: 500,
  /** Requests of one caller that are kept, decided ones included. */
  approvalsPerUser: 200,
}
