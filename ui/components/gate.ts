import { html, svg, type TemplateResult } from 'lit'
import { brandMark } from './brand.ts'

const JACKS = [20, 60].flatMap(y => Array.from({ length: 10 }, (_, at) => ({ x: 16 + 32 * at, y })))

/** Frame of the forms before the console: the picture of jacks, the name, one card. */
export function gate(content: unknown): TemplateResult {
  return html`<main class="gate"><div class="gatebox"><svg class="jackart" viewBox="0 0 320 96" aria-hidden="true">${JACKS.map(
    ({ x, y }) => svg`<circle class="ja" cx=${x} cy=${y} r="7"/>`,
  )}<path class="jc k" d="M48 20C52 84 138 92 144 60"/><path class="jc k" d="M272 20C268 76 196 84 208 60"/><path class="jc a"
    d="M112 20C116 52 172 52 176 20"/><circle class="jp k" cx="48" cy="20" r="4.2"/><circle class="jp k" cx="144" cy="60" r="4.2"/><circle
    class="jp k" cx="272" cy="20" r="4.2"/><circle class="jp k" cx="208" cy="60" r="4.2"/><circle class="jp a" cx="112" cy="20" r="4.2"/><circle
    class="jp a" cx="176" cy="20" r="4.2"/></svg><div class="gbrand">${brandMark()}<span>patchbay</span></div>${content}</div></main>`
}
