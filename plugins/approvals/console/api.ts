import { api, segment } from 'patchbay/console'

/** A call that waits for a decision, or waited for one. */
export interface Approval {
  readonly id: string
  /** Owner and name, such as `ann~mail`. */
  readonly server: string
  readonly tool: string
  /** Absent once it was decided, and for callers who may not see them. */
  readonly arguments?: Readonly<Record<string, unknown>>
  readonly caller: string
  readonly client: string
  readonly count: number
  readonly createdAt: string
  readonly expiresAt: string
  readonly state: 'pending' | 'approved' | 'denied' | 'expired'
  readonly decidedBy?: string
  readonly decidedAt?: string
  readonly note?: string
  readonly mayDecide: boolean
  /** Time for which the user may allow the same call again without a question. */
  readonly rememberSeconds?: number
}

/** A decision about a call. */
export interface ApprovalDecision {
  readonly decision: 'approve' | 'deny'
  readonly remember?: boolean
}

/** Calls that wait for a person. */
export const approvalsApi = {
  list: (signal: AbortSignal) => api.get<{ readonly items: readonly Approval[] }>('/api/approvals', { signal }),
  one: (id: string, signal: AbortSignal) => api.get<Approval>(`/api/approvals/${segment(id)}`, { signal }),
  decide: (id: string, body: ApprovalDecision) =>
    api.post<Approval>(`/api/approvals/${segment(id)}`, { body: { ...body } }),
}

/** Path of the page of a request. */
export const approvalPath = (id: string): string => `/approvals/${segment(id)}`
