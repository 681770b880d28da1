import { html, nothing, type TemplateResult } from 'lit'
import type { ApiError } from '../api/problem.ts'
import type { Resource } from '../app/resource.ts'
import { icon } from '../text/icon.ts'
import { fieldsText, hintText, ownWords, type Problem, problemText } from '../text/problem.ts'
import { t } from '../text/t.ts'
import './copy.ts'
import './time.ts'

/** Text of an empty place: a description, one action, and perhaps a link. */
export interface EmptyText {
  readonly icon: string
  readonly title: string
  readonly text?: string
  readonly action?: unknown
}

/** An empty place; "nothing yet" and "nothing matches" are different. */
export function emptyState({ icon: name, title, text, action }: EmptyText): TemplateResult {
  return html`<div class="empty">${icon(name, { class: 's20' })}<h2>${title}</h2>
    ${text === undefined ? nothing : html`<p>${text}</p>`}${action ?? nothing}</div>`
}

/** An error with its cause, next step, code and request id. `retry` adds a button. */
export function errorState(error: ApiError, retry?: () => void): TemplateResult {
  return html`<div class="callout bad" role="alert">${icon('circle-x')}<div class="grow stack t">
    <p><b>${errorText(error)}</b></p>${hintLine(error)}${ownWordsOf(error)}
    <p class="row wrap xs q"><code>${error.code}</code>${
      error.requestId === undefined
        ? nothing
        : html`<code>${error.requestId}</code><pb-copy .text=${error.requestId}></pb-copy>`
    }${retry ? html`<button type="button" class="btn sm push" @click=${retry}>${t('Try again')}</button>` : nothing}</p>
  </div></div>`
}

/** Advice about an error, if there is any. */
export function hintLine(problem: Problem): unknown {
  const hint = hintText(problem)
  return hint === undefined ? nothing : html`<p>${hint}</p>`
}

/** The hub's own sentences, folded, if they contain details that the translated text does not. */
export function ownWordsOf(problem: Problem): unknown {
  const words = ownWords(problem)
  if (words === undefined) return nothing
  return html`<details><summary>${t('What was said')}</summary><pre class="code wrap" lang="en">${words}</pre></details>`
}

/** The sentence of an error, in the language of the page. */
export function errorText(error: ApiError): string {
  if (error.code === 'hub_unreachable')
    return t('The hub does not answer. It may be restarting, or the network is down.')
  if (error.code === 'rate_limited' || error.code === 'login_throttled') {
    return t('Too many attempts. Try again in {n} s.', { n: error.retryAfterSeconds ?? 1 })
  }
  const fields = error.code === 'validation_failed' ? fieldsText(error) : undefined
  return fields === undefined ? problemText(error) : `${problemText(error)}：${fields}`
}

/** Placeholder lines in the shape of the expected content, shown after 200 ms. */
export function skeleton(rows = 4): TemplateResult {
  return html`<div class="skeleton" aria-busy="true"><span class="vh" role="status">${t('Loading')}</span>${Array.from(
    { length: rows },
    () => html`<div class="skel"></div>`,
  )}</div>`
}

/**
 * Shows the data of a resource in their state: a skeleton at first, an error with a retry button, or the data; after a failed
 * reading the older data stay under a banner with their age.
 */
export function show<T>(
  resource: Resource<T>,
  ready: (data: T) => unknown,
  loading: () => unknown = () => skeleton(),
): unknown {
  const { data, error } = resource
  const retry = (): void => void resource.reload()
  if (data === undefined) return error ? errorState(error, retry) : loading()
  if (!error) return ready(data)
  return html`<div class="callout warn" role="status">${icon('triangle-alert')}<div class="grow"><p>${errorText(error)}
    ${t('These data are from')} <pb-time .at=${resource.readAtMs}></pb-time>.</p></div>
    <button type="button" class="btn sm" @click=${retry}>${t('Try again')}</button></div>
    <div class="stale">${ready(data)}</div>`
}
