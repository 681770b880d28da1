import { html, type TemplateResult } from 'lit'

/** Longer texts are shown as they are. */
const LONGEST = 100_000

/**
 * A small part of Markdown as templates: headings, lists, code, paragraphs, emphasis, links to http and https. Images and HTML
 * stay text, so that nothing is loaded from other hosts.
 */
export function markdown(text: string): unknown {
  if (text.length > LONGEST) return html`<pre class="code wrap">${text}</pre>`
  const blocks: unknown[] = []
  const lines = text.split('\n')
  for (let at = 0; at < lines.length; ) {
    const { block, next } = blockAt(lines, at)
    if (block !== undefined) blocks.push(block)
    at = next
  }
  return html`<div class="md">${blocks}</div>`
}

function blockAt(lines: readonly string[], at: number): { readonly block?: unknown; readonly next: number } {
  const line = lines[at] ?? ''
  if (line.trim() === '') return { next: at + 1 }
  if (line.startsWith('```')) {
    const end = lines.findIndex((one, index) => index > at && one.startsWith('```'))
    const stop = end < 0 ? lines.length : end
    return { block: html`<pre class="code wrap">${lines.slice(at + 1, stop).join('\n')}</pre>`, next: stop + 1 }
  }
  const heading = /^#{1,6} (.*)/.exec(line)
  if (heading) return { block: html`<p><b>${inline(heading[1] ?? '')}</b></p>`, next: at + 1 }
  const isItem = (one: string): boolean => /^\s*([-*]|\d+\.) /.test(one)
  const isText = (one: string): boolean => one.trim() !== '' && !isItem(one) && !/^(```|#{1,6} )/.test(one)
  const isPart = isItem(line) ? isItem : isText
  let end = at + 1
  while (end < lines.length && isPart(lines[end] ?? '')) end += 1
  const part = lines.slice(at, end)
  if (!isItem(line)) return { block: html`<p>${inline(part.join('\n'))}</p>`, next: end }
  const items = part.map(one => html`<li>${inline(one.replace(/^\s*([-*]|\d+\.) /, ''))}</li>`)
  return { block: /^\s*\d/.test(line) ? html`<ol>${items}</ol>` : html`<ul>${items}</ul>`, next: end }
}

const INLINE = /(`[^`\n]+`)|(\*\*[^*\n]+\*\*)|(!?\[[^\]\n]*\]\([^()\s]+\))/g

function inline(text: string): readonly (string | TemplateResult)[] {
  const parts: (string | TemplateResult)[] = []
  let at = 0
  for (const found of text.matchAll(INLINE)) {
    parts.push(text.slice(at, found.index), styled(found[0]))
    at = found.index + found[0].length
  }
  return [...parts, text.slice(at)]
}

function styled(part: string): string | TemplateResult {
  if (part.startsWith('`')) return html`<code>${part.slice(1, -1)}</code>`
  if (part.startsWith('**')) return html`<b>${part.slice(2, -2)}</b>`
  const [, label = '', target = ''] = /^\[([^\]]*)\]\(([^)]+)\)$/.exec(part) ?? []
  if (!/^https?:\/\//i.test(target)) return part
  return html`<a href=${target} rel="noopener noreferrer" target="_blank">${label || target}</a>`
}
