import { z } from 'zod'
import type { QuotaKind } from './types.ts'

const count = z.number().int().min(0).max(1_000_000_000)

/** The members of a quota; each is optional. */
export const quotaSchema = z.strictObject({
  perMinute: count.optional().meta({
    title: 'Calls in a minute',
    description: 'Counted over the last 60 seconds.',
    'x-zh': { title: '每分钟调用数', description: '按最近 60 秒计算。' },
  }),
  perDay: count.optional().meta({
    title: 'Calls in a day',
    description: 'The day begins at 00:00 UTC.',
    'x-zh': { title: '每天调用数', description: '每天从 UTC 00:00 开始。' },
  }),
  atOnce: count.optional().meta({
    title: 'Calls at once',
    description: 'Calls that have been sent and have not ended.',
    'x-zh': { title: '并发调用数', description: '已发送但尚未结束的调用。' },
  }),
  resultTokensPerDay: count.optional().meta({
    title: 'Tokens of results in a day',
    description: 'Four characters of a result count as one token. A call is refused when the number has been reached.',
    'x-zh': { title: '每天结果的 token 数', description: '结果中每四个字符计为一个 token；达到该数后拒绝调用。' },
  }),
})

/** Most calls and tokens. Absent members: unlimited. */
export type Quota = Readonly<z.infer<typeof quotaSchema>>

/** The members that count over a day. */
export const OF_DAY = ['perDay', 'resultTokensPerDay'] as const satisfies readonly (keyof Quota)[]
export type OfDay = (typeof OF_DAY)[number]

/** One thing with a quota. */
export interface Plan {
  /** The kind, and the id where there is one: `server:0d1e…`. */
  readonly subject: string
  readonly kind: QuotaKind
  readonly quota: Quota
  /** The user, for quotas of users, keys and clients. */
  readonly userId?: string | null
  readonly serverId?: string | null
  readonly groupId?: string | null
}

/** Characters of a result that count as one token. */
const CHARACTERS = 4

/** Tokens of a result, estimated from its length. */
export function tokensOf(characters: number): number {
  return Math.ceil(characters / CHARACTERS)
}

/** True for a quota that limits nothing. */
export function isEmpty(quota: Quota): boolean {
  return Object.values(quota).every(value => value === undefined)
}

/** The subject of a tool, by the server's own name. */
export function toolSubject(serverId: string, tool: string): string {
  return `tool:${serverId}:${tool}`
}

/** The subject of an access key. */
export function keySubject(keyId: string): string {
  return `key:${keyId}`
}

/** The subject of a client that a user has agreed to. It names the user, so that nobody sets quotas for clients of others. */
export function grantSubject(userId: string, grantId: string): string {
  return `grant:${userId}:${grantId}`
}
