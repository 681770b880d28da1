import { html, type TemplateResult } from 'lit'
import type { HealthCheck } from '../../api/servers.ts'
import { t } from '../../text/t.ts'

/** Number of checks that the bar shows. */
const SHOWN = 30
/** A check that took longer is slow, in milliseconds. */
const SLOW_MS = 1000
const STEP = 4
const WIDTH = 3
const HEIGHT = 16

type Outcome = 'good' | 'slow' | 'failed' | 'none'

/** The height shows the outcome too, so that the bar is readable without colour. */
const SHAPES: Readonly<Record<Outcome, { readonly height: number; readonly fill: string }>> = {
  good: { height: 7, fill: 'fok' },
  slow: { height: 11, fill: 'fwarn' },
  failed: { height: HEIGHT, fill: 'fbad' },
  none: { height: 2, fill: 'frest' },
}

/** The last 30 health checks of a server, the newest at the right; four paths however many checks. */
export function checksBar(checks: readonly HealthCheck[]): TemplateResult {
  const last = checks.slice(-SHOWN)
  const outcomes: Outcome[] = [
    ...Array.from({ length: SHOWN - last.length }, () => 'none' as const),
    ...last.map(outcomeOf),
  ]
  const count = (wanted: Outcome): number => outcomes.filter(one => one === wanted).length
  const label =
    last.length === 0
      ? t('No health checks yet')
      : t('Last {n} checks: {good} good, {slow} slower than 1 s, {failed} failed', {
          n: last.length,
          good: count('good'),
          slow: count('slow'),
          failed: count('failed'),
        })
  return html`<svg class="bars30" viewBox="0 0 119 16" role="img" aria-label=${label}><title>${label}</title>
    <path class=${SHAPES.none.fill} d=${shape(outcomes, 'none')}></path><path class=${SHAPES.good.fill} d=${shape(outcomes, 'good')}></path>
    <path class=${SHAPES.slow.fill} d=${shape(outcomes, 'slow')}></path><path class=${SHAPES.failed.fill} d=${shape(outcomes, 'failed')}></path></svg>`
}

function outcomeOf({ ok, durationMs }: HealthCheck): Outcome {
  if (!ok) return 'failed'
  return durationMs > SLOW_MS ? 'slow' : 'good'
}

function shape(outcomes: readonly Outcome[], wanted: Outcome): string {
  const { height } = SHAPES[wanted]
  return outcomes
    .map((one, at) => (one === wanted ? `M${at * STEP} ${HEIGHT - height}h${WIDTH}v${height}h-${WIDTH}z` : ''))
    .join('')
}
