import { html, nothing, type TemplateResult } from 'lit'
import type { ServerRecord, ServerStatus } from '../../api/types.ts'
import { formatSpan } from '../../text/format.ts'
import { icon } from '../../text/icon.ts'
import { problemText } from '../../text/problem.ts'
import { t } from '../../text/t.ts'
import { wantsSignIn, worksForReader } from './sign-in.ts'

/** Look of a state: calm, in progress, failed, or stopped on purpose. */
export type Tone = 'ok' | 'warn' | 'bad' | 'rest'

/** Reasons for being offline that need no action. */
const RESTING: ReadonlySet<string> = new Set(['stopped', 'idle', 'owner_disabled'])

/** Duration of a start that is not reported, in milliseconds. */
const SHORT_START_MS = 2_000

/** Icon, word and tone of a server's state, for this reader. */
export function stateOf(server: Pick<ServerRecord, 'status' | 'mine'>): {
  readonly tone: Tone
  readonly icon: string
  readonly word: string
} {
  const { status } = server
  if (worksForReader(server)) return { tone: 'ok', icon: 'circle-check', word: t('Works for you') }
  if (needsSignIn(server)) return { tone: 'warn', icon: 'key', word: t('Sign-in needed') }
  if (status.state === 'online') return { tone: 'ok', icon: 'circle-check', word: t('Online') }
  if (status.state === 'connecting') return { tone: 'warn', icon: 'loader-circle', word: t('Connecting') }
  if (status.reason?.code === 'idle') return { tone: 'rest', icon: 'moon', word: t('Sleeping') }
  if (isResting(status)) return { tone: 'rest', icon: 'circle-minus', word: t('Stopped') }
  return { tone: 'bad', icon: 'circle-x', word: t('Offline') }
}

/** True for a server that is of no use to this reader before it has signed in there. */
export function needsSignIn(server: Pick<ServerRecord, 'id' | 'status' | 'mine'>): boolean {
  return server.mine !== undefined && wantsSignIn(server) && !isResting(server.status)
}

/** True when a server is offline on purpose, or until it is needed. */
export function isResting(status: ServerStatus): boolean {
  return status.state === 'offline' && RESTING.has(status.reason?.code ?? '')
}

/** `attempt 2, next in 4 s`, while there is a next attempt, or `starting for 42 s: downloading …`, while one lasts. */
export function attemptText(status: ServerStatus, now = Date.now()): string | undefined {
  if (status.starting) return startText(status.starting)
  if (status.nextAttemptAt === undefined) return undefined
  const left = new Date(status.nextAttemptAt).getTime() - now
  if (left <= 0) return t('attempt {n} runs', { n: (status.attempts ?? 0) + 1 })
  return t('attempt {n}, next in {time}', { n: (status.attempts ?? 0) + 1, time: formatSpan(Math.max(left, 1000)) })
}

function startText({ forMs, line }: NonNullable<ServerStatus['starting']>): string | undefined {
  if (forMs < SHORT_START_MS && line === undefined) return undefined
  const time = formatSpan(forMs)
  return line === undefined ? t('starting for {time}', { time }) : t('starting for {time}: {line}', { time, line })
}

/** A mark of icon and word: `mark('ok', 'circle-check', t('Online'))`. */
export function mark(tone: Tone, name: string, word: string): TemplateResult {
  return html`<span class="st ${tone}">${icon(name)}${word}</span>`
}

/** The state of a server as icon and word; the reason, if wanted, below it. */
export function serverState(
  server: Pick<ServerRecord, 'status' | 'mine'>,
  options: { readonly reason?: boolean } = {},
): TemplateResult {
  const { status } = server
  const { tone, icon: name, word } = stateOf(server)
  const reason = options.reason
    ? (attemptText(status) ?? (tone === 'bad' && status.reason ? problemText(status.reason) : undefined))
    : undefined
  return html`${mark(tone, name, word)}${reason === undefined ? nothing : html`<span class="subst cellsub" title=${reason}>${reason}</span>`}`
}

const TRANSPORTS: Readonly<Record<string, { readonly icon: string; readonly word: string }>> = {
  stdio: { icon: 'terminal', word: 'stdio' },
  sse: { icon: 'radio-tower', word: 'SSE' },
  'streamable-http': { icon: 'globe', word: 'HTTP' },
  openapi: { icon: 'braces', word: 'OpenAPI' },
}

/** A transport as icon and word. */
export function transportMark(transport: string): TemplateResult {
  const { icon: name, word } = TRANSPORTS[transport] ?? { icon: 'plug', word: transport }
  return html`<span class="st rest">${icon(name)}${word}</span>`
}
