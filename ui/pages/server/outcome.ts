import { html, nothing, type TemplateResult } from 'lit'
import { hasLogs, requestLink } from '../../components/log-link.ts'
import { segments } from '../../components/page.ts'
import { errorText, hintLine, ownWordsOf } from '../../components/states.ts'
import { formatBytes, formatClock, formatMs, formatNumber } from '../../text/format.ts'
import { icon } from '../../text/icon.ts'
import { plural, t } from '../../text/t.ts'
import type { Outcome, Run } from './call.ts'
import { contentView } from './result.ts'
import '../../components/copy.ts'
import '../../components/json/json.ts'

/** Views of a result. */
export type ResultView = 'structured' | 'text' | 'raw'

/** Icon, tone and word of an outcome: a failed tool, a failed server and a rejection by the hub look different. */
export function outcomeMark(outcome: Outcome): { readonly icon: string; readonly tone: string; readonly word: string } {
  if (outcome.kind === 'cancelled') return { icon: 'ban', tone: 'rest', word: t('Cancelled') }
  if (outcome.kind === 'rpc') return { icon: 'unplug', tone: 'bad', word: t('The server answered with an error') }
  if (outcome.kind !== 'result')
    return outcome.kind === 'hub'
      ? { icon: 'circle-x', tone: 'bad', word: t('The hub refused the call') }
      : { icon: 'unplug', tone: 'bad', word: t('The server failed') }
  if (outcome.result.isError) return { icon: 'octagon-x', tone: 'warn', word: t('The tool says no') }
  return { icon: 'circle-check', tone: 'ok', word: t('Result') }
}

/** The outcome in one line, for the history. */
export function outcomeLine({ outcome, input }: Run): string {
  if (outcome === undefined) return t('Running')
  if (outcome.kind === 'cancelled') return t('Cancelled by you; the server was notified')
  if (outcome.kind === 'rpc') return t('The server answered: {message}', { message: outcome.message })
  if (outcome.kind !== 'result') return errorText(outcome.error)
  const text = outcome.result.content?.find(({ type }) => type === 'text')?.text
  if (outcome.result.isError) return t('The tool says: {message}', { message: String(text ?? '') })
  return JSON.stringify(input) ?? '{}'
}

/** The column of the result. */
export function outcomeView(run: Run, view: ResultView, choose: (view: ResultView) => void): TemplateResult {
  const { outcome } = run
  if (!outcome) return html``
  const { icon: name, tone, word } = outcomeMark(outcome)
  const hasStructure = outcome.kind === 'result' && outcome.result.structuredContent !== undefined
  const views: { id: ResultView; label: string }[] = [
    ...(hasStructure ? [{ id: 'structured' as const, label: t('Structured') }] : []),
    { id: 'text', label: t('Content') },
    { id: 'raw', label: t('Raw') },
  ]
  const present = view === 'structured' && !hasStructure ? 'text' : view
  return html`<div class="row wrap resh" role="status"><span class="st ${tone} resok">${icon(name)}<b>${word}</b></span><span class="q s tn">${formatMs(run.durationMs ?? 0)}</span>${
    outcome.kind === 'result'
      ? html`<span class="push">${segments(t('Result as'), views, present, choose, 'sm')}</span>`
      : nothing
  }</div>${body(outcome, present)}${notifications(run)}${foot(run, outcome)}`
}

function body(outcome: Outcome, view: ResultView): unknown {
  if (outcome.kind === 'cancelled')
    return html`<p class="s q">${t('The server was notified. Its finished work is not undone.')}</p>`
  if (outcome.kind === 'rpc')
    return html`<div class="callout bad" role="alert">${icon('unplug')}<div class="grow stack t"><p><b>${outcome.message}</b></p><p class="xs q"><code>${outcome.code}</code> ${t('This is an error of the protocol, not of the tool: the call did not get through to it.')}</p>${
      outcome.data === undefined ? nothing : html`<pb-json .value=${outcome.data}></pb-json>`
    }</div></div>`
  if (outcome.kind !== 'result')
    return html`<div class="callout bad" role="alert">${icon(outcome.kind === 'upstream' ? 'unplug' : 'circle-x')}<div class="grow stack t"><p><b>${errorText(outcome.error)}</b></p>${hintLine(outcome.error)}${ownWordsOf(outcome.error)}<p class="xs q"><code>${outcome.error.code}</code></p></div></div>`
  const { result, text } = outcome
  if (view === 'raw') return html`<pb-json .text=${text} label=${t('Result, raw')}></pb-json>`
  if (view === 'structured')
    return html`<pb-json .value=${result.structuredContent} label=${t('Result, structured')}></pb-json>`
  const content = result.content ?? []
  if (content.length === 0) return html`<p class="s q">${t('The result is empty.')}</p>`
  return html`<div class="stack rescontent">${content.map(contentView)}</div>`
}

function notifications({ notifications: notes }: Run): unknown {
  if (notes.length === 0) return nothing
  return html`<div><h3 class="sech notif">${t('Notifications')} <span class="f xs">${notes.length}</span></h3><div role="log" aria-label=${t('Notifications')}><ul class="notes">${notes.map(
    ({ atMs, text }) => html`<li><span class="f">${formatClock(atMs)}</span> ${text}</li>`,
  )}</ul></div></div>`
}

/** Approximate number of characters in a token. */
const CHARACTERS_A_TOKEN = 4

function foot(run: Run, outcome: Outcome): unknown {
  const text = outcome.kind === 'result' ? outcome.text : undefined
  const save = (): void => {
    const link = document.createElement('a')
    link.href = URL.createObjectURL(new Blob([text ?? ''], { type: 'application/json' }))
    link.download = `${run.tool.replace(/[^\w.-]/g, '_')}.json`
    link.click()
    URL.revokeObjectURL(link.href)
  }
  const requestId =
    run.requestId ?? (outcome.kind === 'hub' || outcome.kind === 'upstream' ? outcome.error.requestId : undefined)
  return html`<div class="row xs q"><span class="grow">${
    text === undefined
      ? nothing
      : html`${formatBytes(new Blob([text]).size)}, ${t('about {n} tokens to a client', { n: formatNumber(Math.ceil(text.length / CHARACTERS_A_TOKEN), 0) })}<br>`
  }${requestId === undefined ? nothing : html`${requestLink(requestId, 'mono')} ${hasLogs() ? t('in the logs') : nothing}`}</span>${
    text === undefined
      ? nothing
      : html`<pb-copy .text=${text} label=${t('Copy result')}></pb-copy><button type="button" class="btn ghost sm ico" aria-label=${t('Save result')} title=${t('Save result')} @click=${save}>${icon('download')}</button>`
  }</div>`
}

/** The column of the result while the call runs. */
export function runningView(run: Run, nowMs: number): TemplateResult {
  const { progress } = run
  const total = progress?.total
  const part = progress && total ? Math.min(progress.progress / total, 1) : undefined
  return html`<div class="row resh"><span class="st" role="status">${icon('loader-circle', { class: 'st-run' })}<b>${t('Running')}</b></span><span class="q s tn">${formatMs(Math.max(0, nowMs - run.startedMs))}</span>${
    run.requestId === undefined ? nothing : requestLink(run.requestId, 'mono xs push')
  }</div>${
    progress === undefined
      ? nothing
      : html`<div class="stack t"><div class="row s"><span>${progress.message ?? plural(progress.progress, 'Step {n}', 'Step {n}')}</span><span class="push q tn">${
          part === undefined ? formatNumber(progress.progress) : `${formatNumber(part * 100, 0)} %`
        }</span></div>${
          part === undefined
            ? nothing
            : html`<svg class="prog" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label=${t('Progress {n} %', { n: Math.round(part * 100) })}><rect class="progf" width=${part * 100} height="6"></rect></svg>`
        }<p class="xs q">${t('The time limit moves with progress.')}</p></div>`
  }${notifications(run)}`
}
