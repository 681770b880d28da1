import { api, type PieceSubject, segment } from 'patchbay/console'

/** A call that waits for a decision, or waited for one. */
export interface Approval {
  readonly id: string
  /** Owner and name, such as `ann~mail`; absent where the user may not see it. */
  readonly server?: string
  /** Owner and name of the group at whose address it was called. */
  readonly group?: string
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
  /** `restart`: the hub was started again while it waited. */
  readonly reason?: 'restart' | 'access_ended'
  readonly mayDecide: boolean
  /** The team that decides, while it waits. */
  readonly team?: string
  /** Time for which the user may allow the same call again without a question. */
  readonly rememberSeconds?: number
}

/** A decision about a call. */
export interface ApprovalDecision {
  readonly decision: 'approve' | 'deny'
  readonly remember?: boolean
}

export type Scalar = string | number | boolean | null

/** A condition about one argument; all of its members must hold. */
export interface ArgumentCondition {
  readonly eq?: Scalar
  readonly in?: readonly Scalar[]
  readonly gt?: number
  readonly gte?: number
  readonly lt?: number
  readonly lte?: number
  readonly contains?: string
  readonly prefix?: string
  readonly exists?: boolean
}

/** Conditions about what servers say of their tools. */
export type Annotation = 'readOnly' | 'destructive' | 'idempotent' | 'openWorld'

/** The calls that a rule is for; all members must fit. */
export interface RuleWhen extends Partial<Readonly<Record<Annotation, boolean>>> {
  readonly tools?: readonly string[]
  readonly tags?: readonly string[]
  readonly arguments?: Readonly<Record<string, ArgumentCondition>>
  readonly callers?: readonly string[]
  readonly clients?: readonly string[]
}

export type Way = 'elicitation' | 'console' | 'chat'

/** A rule about calls. */
export interface ApprovalRule {
  readonly when?: RuleWhen
  readonly then: 'allow' | 'ask' | 'deny'
  readonly who?: string
  readonly by?: readonly Way[]
  readonly timeout?: string
  readonly remember?: string
}

/** The rules of a server or group. The first one that fits holds. */
export interface ApprovalPolicy {
  readonly rules: readonly ApprovalRule[]
  readonly trustAnnotations?: boolean
}

const pathOf = ({ kind, ref }: PieceSubject): string => `/api/${kind}s/${segment(ref)}/approvals`

/** Calls that wait for a person. */
export const approvalsApi = {
  list: (signal: AbortSignal) => api.get<{ readonly items: readonly Approval[] }>('/api/approvals', { signal }),
  one: (id: string, signal: AbortSignal) => api.get<Approval>(`/api/approvals/${segment(id)}`, { signal }),
  /** Names of all teams. */
  teams: async (signal: AbortSignal): Promise<readonly string[]> => {
    const query = { limit: 1_000 }
    const { items } = await api.get<{ readonly items: readonly { readonly name: string }[] }>('/api/teams', {
      query,
      signal,
    })
    return items.map(({ name }) => name)
  },
  rules: (subject: PieceSubject, signal?: AbortSignal) =>
    api.get<ApprovalPolicy>(pathOf(subject), signal ? { signal } : {}),
  setRules: (subject: PieceSubject, policy: ApprovalPolicy) =>
    api.put<ApprovalPolicy>(pathOf(subject), { body: { ...policy } }),
  decide: (id: string, body: ApprovalDecision) =>
    api.post<Approval>(`/api/approvals/${segment(id)}`, { body: { ...body } }),
}

/** Replaces the rules `before` as they were shown; undefined: another user has changed them meanwhile, and nothing is saved. */
export async function replaceRules(
  subject: PieceSubject,
  before: ApprovalPolicy,
  after: ApprovalPolicy,
): Promise<ApprovalPolicy | undefined> {
  const present = await approvalsApi.rules(subject)
  return JSON.stringify(present) === JSON.stringify(before) ? approvalsApi.setRules(subject, after) : undefined
}

/** Path of the page of a request. */
export const approvalPath = (id: string): string => `/approvals/${segment(id)}`
