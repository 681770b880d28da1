import { html, nothing } from 'lit'
import { visibleText } from '../../../core/domain/text/visible-text.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import { markdown } from './markdown.ts'
import '../../components/json/json.ts'

/** Texts that are read as Markdown: headings, lists, code, links. */
const MARKDOWN = /^#{1,6} |^\s*[-*] |\*\*[^*]+\*\*|^```|\[[^\]]+\]\(https?:/m
const IMAGES = /^image\/(png|jpeg|gif|webp|avif)$/
/** Length above which texts are cut until expanded, in characters. */
const LONG = 100_000

/** One piece of a result as it is best read. */
export function contentView(content: Readonly<Record<string, unknown>>): unknown {
  const { type, text, data, mimeType, uri, name, resource } = content
  if (type === 'text' && typeof text === 'string') return textView(text)
  if (type === 'image' && typeof data === 'string' && IMAGES.test(String(mimeType)))
    return html`<img class="resimg" alt=${t('Image of the result')} src="data:${mimeType};base64,${data}">`
  if (type === 'audio' && typeof data === 'string' && /^audio\/[\w.+-]+$/.test(String(mimeType)))
    return html`<p class="s q">${icon('audio-lines', { class: 's14' })} ${t('Audio, {type}', { type: String(mimeType) })}</p>`
  if (type === 'resource_link')
    return html`<p class="s">${icon('link', { class: 's14' })} <span class="mono">${uri}</span>${typeof name === 'string' ? html` <span class="q">${name}</span>` : nothing}</p>`
  if (type === 'resource' && typeof resource === 'object' && resource !== null)
    return resourceView(resource as Readonly<Record<string, unknown>>)
  return html`<pb-json .value=${content}></pb-json>`
}

function resourceView(resource: Readonly<Record<string, unknown>>): unknown {
  const { uri, mimeType, text, blob } = resource
  const head = html`<p class="xs q"><span class="mono">${uri}</span> ${mimeType}</p>`
  if (typeof text === 'string') return html`${head}${textView(text, String(mimeType))}`
  if (typeof blob === 'string' && IMAGES.test(String(mimeType)))
    return html`${head}${contentView({ type: 'image', data: blob, mimeType })}`
  return html`${head}<p class="s q">${t('Binary, {n} characters of base64', { n: String(blob ?? '').length })}</p>`
}

function textView(given: string, mimeType = ''): unknown {
  const text = visibleText(given)
  const start = text.trimStart()
  if (mimeType.includes('json') || start.startsWith('{') || start.startsWith('[')) {
    return html`<pb-json .text=${text}></pb-json>`
  }
  if (text.length > LONG)
    return html`<pre class="code wrap rescode" tabindex="0" role="region" aria-label=${t('Text')}>${text}</pre>`
  if (MARKDOWN.test(text)) return markdown(text)
  return html`<pre class="code wrap rescode" tabindex="0" role="region" aria-label=${t('Text')}>${text}</pre>`
}
