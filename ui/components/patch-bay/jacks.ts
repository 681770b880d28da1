import { html, nothing, svg, type TemplateResult } from 'lit'
import { plural, t } from '../../text/t.ts'
import type { Tone } from '../servers/status.ts'

/** A server as a jack. */
export interface Jack {
  readonly id: string
  readonly tone: Tone
  /** Calls in a minute; undefined: not known, drawn as silent. */
  readonly rate?: number
}

/** Distance of jacks, in pixels. */
export const JACK_STEP = 14.5
/** Jacks in a line of a strip. */
export const JACKS_PER_LINE = 22

/** Servers as a field of jacks: faults as crosses, traffic as the size of the dot. `chosen`: the marked one. */
export function jackField(jacks: readonly Jack[], chosen?: string): TemplateResult {
  const columns = Math.min(JACKS_PER_LINE, Math.max(jacks.length, 1))
  const lines = Math.max(1, Math.ceil(jacks.length / JACKS_PER_LINE))
  const [width, height] = [columns * JACK_STEP, lines * JACK_STEP]
  return html`<svg class="jackfield" width=${width} height=${height} viewBox="0 0 ${width} ${height}" role="img" aria-label=${countsText(jacks)}>${jacks.map(
    (jack, at) => {
      const x = (at % JACKS_PER_LINE) * JACK_STEP + JACK_STEP / 2
      const y = Math.floor(at / JACKS_PER_LINE) * JACK_STEP + JACK_STEP / 2
      return svg`${shape(jack, x, y)}${jack.id === chosen ? svg`<circle class="sl" cx=${x} cy=${y} r="6.6"></circle>` : nothing}`
    },
  )}</svg>`
}

function shape({ tone, rate = 0 }: Jack, x: number, y: number): unknown {
  if (tone === 'bad')
    return svg`<circle class="off" cx=${x} cy=${y} r="6"></circle><path class="offx" d="M${x - 2.2} ${y - 2.2}l4.4 4.4m0-4.4l-4.4 4.4"></path>`
  if (tone === 'warn') return svg`<circle class="con" cx=${x} cy=${y} r="4.6"></circle>`
  if (tone === 'rest') return svg`<path class="stp" d="M${x - 3} ${y}h6"></path>`
  const dot = rate === 0 ? 0 : rate < 5 ? 1.4 : rate <= 30 ? 2.3 : 3.2
  return svg`<circle class="r" cx=${x} cy=${y} r="4.6"></circle>${dot > 0 ? svg`<circle class="d" cx=${x} cy=${y} r=${dot}></circle>` : nothing}`
}

/** `6 servers: 5 online, 1 offline`. */
export function countsText(jacks: readonly Pick<Jack, 'tone'>[]): string {
  const count = (tone: Tone): number => jacks.filter(jack => jack.tone === tone).length
  const parts = [
    [count('ok'), t('{n} online', { n: count('ok') })],
    [count('warn'), t('{n} connecting', { n: count('warn') })],
    [count('bad'), t('{n} offline', { n: count('bad') })],
    [count('rest'), t('{n} stopped', { n: count('rest') })],
  ] as const
  const servers = plural(jacks.length, '{n} server', '{n} servers')
  const shown = parts.filter(([n]) => n > 0).map(([, text]) => text)
  return shown.length === 0 ? servers : `${servers}: ${shown.join(', ')}`
}

/** Legend of the jacks. */
export function jackLegend(): TemplateResult {
  const samples: readonly (readonly [Jack, string])[] = [
    [{ id: '', tone: 'ok', rate: 40 }, t('busy')],
    [{ id: '', tone: 'ok', rate: 10 }, t('some calls')],
    [{ id: '', tone: 'ok', rate: 1 }, t('few')],
    [{ id: '', tone: 'ok' }, t('silent')],
    [{ id: '', tone: 'warn' }, t('connecting')],
    [{ id: '', tone: 'bad' }, t('offline')],
    [{ id: '', tone: 'rest' }, t('stopped')],
  ]
  return html`<div class="bayfoot"><span class="vh">${t('What the marks mean:')}</span>${samples.map(
    ([jack, word]) =>
      html`<span class="k"><svg class="jackfield" width="14.5" height="14.5" viewBox="0 0 14.5 14.5" aria-hidden="true">${shape(jack, 7.25, 7.25)}</svg>${word}</span>`,
  )}<span class="push wide">${t('Faults first, then by calls. Average of the last 5 minutes.')}</span></div>`
}
