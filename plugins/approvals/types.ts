/** The state of a request. `expired`: it ended without a decision. */
export type ApprovalState = 'pending' | 'approved' | 'denied' | 'expired'
/**
 * `restart`: the hub or the plugin stopped while it waited. `access_ended`: its caller lost the access to the tool, or the server is
 * gone or has another owner.
 */
export type EndReason = 'restart' | 'access_ended'

declare module 'patchbay/contract' {
  interface ErrorCodes {
    approval_denied: never
    approval_pending: { approvalUrl: string }
    approval_decided: never
    approval_not_found: never
    approval_foreign: never
  }
  interface PluginEvents {
    'approvals.requested': { approvalId: string; server: string; tool: string; caller: string }
    'approvals.decided': { approvalId: string; server: string; tool: string; state: ApprovalState }
  }
}
