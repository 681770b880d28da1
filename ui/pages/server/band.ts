import { html, nothing, type TemplateResult } from 'lit'
import type { StateChange } from '../../api/servers.ts'
import type { ServerRecord } from '../../api/types.ts'
import { logLink } from '../../components/log-link.ts'
import { causeOf } from '../../components/servers/cause.ts'
import { mark, type Tone } from '../../components/servers/status.ts'
import { formatClock, formatPercent, formatSpan } from '../../text/format.ts'
import { icon } from '../../text/icon.ts'
import { problemText } from '../../text/problem.ts'
import { plural, t } from '../../text/t.ts'

const DAY_MS = 86_400_000
const WIDTH = 984
/** Spans are drawn at least this wide: a fault of seconds must be seen in a day. */
const NARROWEST = 2

/** A stretch of time in one state. */
export interface Span {
  readonly from: number
  readonly to: number
  readonly tone: Tone
  readonly change: StateChange
}

const RESTING: ReadonlySet<string> = new Set(['stopped', 'idle', 'owner_disabled'])

function toneOf({ state, reason }: StateChange): Tone {
  if (state === 'online') return 'ok'
  if (state === 'connecting') return 'warn'
  return RESTING.has(reason?.code ?? '') ? 'rest' : 'bad'
}

/** The spans of the last day, oldest first, neighbours of one tone joined. */
export function spansOf(changes: readonly StateChange[], now: number): readonly Span[] {
  const spans: Span[] = []
  changes.forEach((change, at) => {
    const next = changes[at + 1]
    const from = Math.max(Date.parse(change.at), now - DAY_MS)
    const to = next ? Math.max(Date.parse(next.at), from) : now
    const tone = toneOf(change)
    const last = spans.at(-1)
    if (last?.tone === tone) spans[spans.length - 1] = { ...last, to }
    else if (to > from) spans.push({ from, to, tone, change })
  })
  return spans
}

const SHAPES: Readonly<Record<Tone, { readonly y: number; readonly height: number; readonly fill: string }>> = {
  ok: { y: 8, height: 8, fill: 'fok' },
  warn: { y: 4, height: 12, fill: 'fwarn' },
  bad: { y: 0, height: 16, fill: 'fbad' },
  rest: { y: 12, height: 4, fill: 'frest' },
}

/** State over the last 24 hours: a band, its sums, and the last fault in a sentence. */
export function stateBand(server: ServerRecord, changes: readonly StateChange[], now: number): TemplateResult {
  const spans = spansOf(changes, now)
  const sum = (tone: Tone): number =>
    spans.filter(span => span.tone === tone).reduce((all, { from, to }) => all + to - from, 0)
  const wanted = sum('ok') + sum('warn') + sum('bad')
  const share = wanted === 0 ? undefined : formatPercent(sum('ok') / wanted)
  const seen = now - (spans[0]?.from ?? now)
  const part = (tone: Tone, name: string, text: string): unknown => (sum(tone) === 0 ? nothing : mark(tone, name, text))
  const span = (tone: Tone): string => formatSpan(sum(tone))
  return html`<section class="card pad stack"><div class="row wrap"><h2 class="sech">${t('Last 24 hours')}</h2>
    <span class="q s">${share === undefined ? t('It should not run') : t('{share} online', { share })}</span><span class="push row wrap s q kleg">${part(
      'ok',
      'circle-check',
      t('online {time}', { time: span('ok') }),
    )}${part('warn', 'loader-circle', t('connecting {time}', { time: span('warn') }))}${part('bad', 'circle-x', t('offline {time}', { time: span('bad') }))}${part(
      'rest',
      'circle-minus',
      t('stopped {time}', { time: span('rest') }),
    )}</span></div>
    ${drawing(spans, now, label(spans, share))}${
      seen < DAY_MS - 60_000
        ? html`<p class="xs q">${t('The hub has watched it for {time}; what was before is not known.', { time: formatSpan(seen) })}</p>`
        : nothing
    }${lastFault(server, spans, changes)}</section>`
}

function label(spans: readonly Span[], share: string | undefined): string {
  const faults = spans.filter(({ tone }) => tone === 'bad').length
  return `${t('State over 24 hours')}: ${share === undefined ? '' : `${t('{share} online', { share })}, `}${plural(faults, 'offline {n} time', 'offline {n} times')}`
}

function drawing(spans: readonly Span[], now: number, text: string): TemplateResult {
  const at = (time: number): number => ((time - (now - DAY_MS)) / DAY_MS) * WIDTH
  const path = (tone: Tone): string => {
    const { y, height } = SHAPES[tone]
    return spans
      .filter(span => span.tone === tone)
      .map(({ from, to }) => {
        const x = Math.min(at(from), WIDTH - NARROWEST)
        return `M${x.toFixed(1)} ${y}h${Math.max(at(to) - at(from), NARROWEST).toFixed(1)}v${height}H${x.toFixed(1)}z`
      })
      .join('')
  }
  const ticks = [0, 0.25, 0.5, 0.75, 1]
  return html`<svg class="chart tband" viewBox="0 0 ${WIDTH} 16" preserveAspectRatio="none" role="img" aria-label=${text}>
      <path class="bandtrack" d="M0 14h${WIDTH}v2h-${WIDTH}z"></path><path class="fok" d=${path('ok')}></path><path class="frest" d=${path('rest')}></path><path class="fwarn" d=${path('warn')}></path><path class="fbad" d=${path('bad')}></path></svg>
    <div class="bandticks xs f tn" aria-hidden="true">${ticks.map(part => html`<span>${part === 1 ? t('now') : formatClock(now - DAY_MS * (1 - part)).slice(0, 5)}</span>`)}</div>`
}

/** The last fault: its start and end, the reason in the console's words, and the number of attempts. */
function lastFault(server: ServerRecord, spans: readonly Span[], changes: readonly StateChange[]): unknown {
  const fault = spans.findLast(({ tone }) => tone === 'bad')
  const reason = fault?.change.reason
  if (!fault || !reason || server.status.state === 'offline') return nothing
  const end = spans.find(({ tone, from }) => tone === 'ok' && from >= fault.to)?.from ?? fault.to
  const tries = changes.filter(
    ({ at, state }) => state === 'connecting' && Date.parse(at) > fault.from && Date.parse(at) <= end,
  ).length
  const clock = (time: number): string => formatClock(time).slice(0, 5)
  return html`<p class="s q evt">${icon('info', { class: 's14' })}<span>${t('{from} to {to}', { from: clock(fault.from), to: clock(end) })}: ${causeOf(reason.code) ?? problemText(reason)}.
    ${plural(tries, 'The hub tried {n} time and came back by itself.', 'The hub tried {n} times and came back by itself.')}
    ${logLink({ server: server.name }, t('Its log lines'))}</span></p>`
}
