import { html, nothing, svg, type TemplateResult } from 'lit'
import type { Page } from '../../api/client.ts'
import type { GroupRecord } from '../../api/types.ts'
import { warningText } from '../../components/sharing/group-warning.ts'
import { formatNumber, formatPercent } from '../../text/format.ts'
import { icon } from '../../text/icon.ts'
import { plural, t } from '../../text/t.ts'

/** A tool as a client sees it. */
export interface ShownTool {
  readonly name: string
  readonly server: string
  readonly original: string
}

/** `GET …/tools` and `POST /api/groups/preview`. */
export interface Preview extends Page<ShownTool> {
  readonly counts: { readonly tools: number; readonly prompts: number; readonly resources: number }
  readonly tokens: number
  readonly warnings: GroupRecord['warnings']
}

/** Largest page of a list. */
const PAGE = 1000

/** A preview with all its names; `read` answers one page of it. */
export async function wholePreview(
  read: (query: { readonly limit: number; readonly offset: number }) => Promise<Preview>,
): Promise<Preview> {
  const first = await read({ limit: PAGE, offset: 0 })
  const items = [...first.items]
  while (items.length < first.total) {
    const more = await read({ limit: PAGE, offset: items.length })
    if (more.items.length === 0) break
    items.push(...more.items)
  }
  return { ...first, items }
}

/** The window that the tokens are compared with. */
const WINDOW_TOKENS = 128_000
/** From this part of the window on the list is costly. */
const COSTLY = 0.25

/** Preview of the client's view; `saved`: the present view. */
export function previewCard(
  preview: Preview,
  saved: Preview | undefined,
  clients: number,
  title: string = t('A client will see'),
): TemplateResult {
  const { counts, tokens, warnings } = preview
  return html`<section class="card pv"><div class="ch line"><h2>${title}</h2><span class="r"><span class="tag acc">${plural(counts.tools, '{n} tool', '{n} tools')}</span></span></div>
    <div class="cb stack padt">${cost(tokens)}<p class="s q mt0">${plural(counts.prompts, '{n} prompt', '{n} prompts')}, ${plural(counts.resources, '{n} resource', '{n} resources')}</p>${clashes(preview)}${warnings
      .filter(({ code }) => code !== 'names_collide')
      .map(
        warning =>
          html`<p class="s row"><span class="st warn">${icon('triangle-alert')}</span><span class="wrapx">${warningText(warning)}</span></p>`,
      )}
    <div><h3 class="sech">${t('Names, as listed')}</h3>${names(preview, saved)}</div>${
      clients > 0
        ? html`<div class="callout">${icon('users-round')}<p>${plural(clients, '{n} client uses this group. It learns of the change at once.', '{n} clients use this group. They learn of the change at once.')}</p></div>`
        : nothing
    }</div></section>`
}

function cost(tokens: number): TemplateResult {
  const part = tokens / WINDOW_TOKENS
  const text = t('{part} of a window of {n} tokens', { part: formatPercent(part), n: formatNumber(WINDOW_TOKENS, 0) })
  return html`<div class="stack t"><div class="row s"><span>${t('Tokens to list them')}</span><b class="push tn">${formatNumber(tokens, 0)}</b></div>
    <svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label=${text}>${svg`<rect class="tr" width="100" height="6"></rect><rect class=${part > COSTLY ? 'fwarn' : 'f1'} width=${Math.min(100, part * 100)} height="6"></rect>`}</svg>
    <p class="xs q">${text}${part > COSTLY ? html` · <span class="st warn">${icon('triangle-alert')}${t('Leave tools out, or use the smart address.')}</span>` : nothing}</p></div>`
}

function clashes({ items, warnings }: Preview): unknown {
  const clashing = new Set(warnings.filter(({ code }) => code === 'names_collide').flatMap(({ tools = [] }) => tools))
  const shown = items.filter(({ name, original }) => clashing.has(original) && name !== original)
  if (shown.length === 0) return nothing
  return html`<div><h3 class="sech">${icon('triangle-alert', { class: 's14 st-warn' })}${plural(shown.length, '{n} name clashes', '{n} names clash')}</h3><ul class="il mono clash">${shown.map(
    ({ original, name }) => html`<li><span>${original}</span><span class="q">→ ${name}</span></li>`,
  )}</ul></div>`
}

function names({ items, total }: Preview, saved: Preview | undefined): unknown {
  const before = new Set(saved?.items.map(({ name }) => name))
  const now = new Set(items.map(({ name }) => name))
  const gone = saved ? saved.items.filter(({ name }) => !now.has(name)).map(({ name }) => ({ name, gone: true })) : []
  const all = [...items.map(({ name }) => ({ name, gone: false })), ...gone].sort((a, b) =>
    a.name.localeCompare(b.name),
  )
  if (all.length === 0) return html`<p class="s q">${t('Nothing yet. Choose tools on the left.')}</p>`
  const fresh = (name: string): boolean => saved !== undefined && !before.has(name)
  return html`<ul class="il mono names" tabindex="0">${all.map(({ name, gone: left }) => {
    if (left) return html`<li class="gone">− ${name}<span class="vh">, ${t('left out')}</span></li>`
    return fresh(name)
      ? html`<li class="new">+ ${name}<span class="vh">, ${t('new')}</span></li>`
      : html`<li>${name}</li>`
  })}</ul>${total > items.length ? html`<p class="xs q">${t('First {n} of {all}', { n: items.length, all: total })}</p>` : nothing}`
}
