import { html, nothing, type TemplateResult } from 'lit'
import type { Endpoint, EndpointTest } from '../../api/assistant.ts'
import type { ApiError } from '../../api/problem.ts'
import { dialog, hide } from '../../components/layers/layer.ts'
import { mark } from '../../components/servers/status.ts'
import { errorState, ownWordsOf } from '../../components/states.ts'
import { formatMs } from '../../text/format.ts'
import type { Problem } from '../../text/problem.ts'
import { plural, t } from '../../text/t.ts'
import { faultText } from './words.ts'

/** A test of an endpoint: it runs until there is a report or an error. */
export interface Tested {
  readonly endpoint: Endpoint
  readonly report?: EndpointTest
  readonly error?: ApiError
}

/** The steps of a test, each with its outcome. */
export function testDialog(tested: Tested | undefined, again: () => void, onClose: () => void): TemplateResult {
  const isRunning = tested !== undefined && !tested.report && !tested.error
  return dialog({
    open: tested !== undefined,
    title: t('Test of {name}', { name: tested?.endpoint.name ?? '' }),
    body: html`<div role="status">${tested ? outcome(tested) : nothing}</div>`,
    foot: html`<button type="button" class="btn push" ?disabled=${isRunning} @click=${again}>${t('Test again')}</button><button type="button" class="btn pri" @click=${hide}>${t('Close')}</button>`,
    onClose,
  })
}

function outcome({ report, error }: Tested): unknown {
  if (error) return errorState(error)
  if (!report) return html`<p class="s q">${t('Going the way of a connection once')}</p>`
  return html`<p class="s">${report.ok ? t('Every step succeeded. Nothing was saved, and no tool was called.') : t('A step failed. Nothing was saved, and no tool was called.')}</p><ol class="list tsteps">${report.steps.map(
    ({ name, outcome: result, durationMs, code, params, detail = '' }) =>
      html`<li><div class="tx"><span class="t1">${stepWord(name)}</span>${result === 'failed' && code !== undefined ? failure({ code, message: detail }) : html`<p class="t2">${saidText(code, params, detail)}</p>`}</div>${resultMark(result)}<span class="tn xs q">${result === 'skipped' ? nothing : formatMs(durationMs)}</span></li>`,
  )}</ol>`
}

function failure(problem: Problem): TemplateResult {
  return html`<p class="t2">${faultText(problem.code, problem.message)} <span class="mono">${problem.code}</span></p>${ownWordsOf(problem)}`
}

/** Text of a step's result that is not a failure; for an unknown code, the hub's words. */
function saidText(code = '', params: Readonly<Record<string, string | number>> = {}, detail = ''): string {
  const texts: Readonly<Record<string, () => string>> = {
    earlier_step_failed: () => t('A step before it failed'),
    connected: () => t('An assistant is connected'),
    not_connected: () => t('No assistant is connected now; it dials the hub by itself'),
    connected_already: () => t('The platform is connected; a second connection is never opened beside it'),
    dialling: () => t('The hub is dialling the platform now; try again when it has an outcome'),
    tools_asked: () => t('The platform asked for the tools'),
    tools_not_asked: () => t('It did not ask for the tools in {n} s', { n: params.seconds ?? '' }),
    tools_read() {
      const tools = plural(Number(params.tools), '{n} tool', '{n} tools')
      return Number(params.leftOut) > 0 ? t('{tools}, {n} left out', { tools, n: params.leftOut ?? '' }) : tools
    },
  }
  return texts[code]?.() ?? detail
}

function resultMark(result: 'ok' | 'failed' | 'skipped'): TemplateResult {
  if (result === 'ok') return mark('ok', 'circle-check', t('Fine'))
  return result === 'failed' ? mark('bad', 'circle-x', t('Failed')) : mark('rest', 'circle-minus', t('Skipped'))
}

function stepWord(name: string): string {
  const words: Readonly<Record<string, string>> = {
    target: t('May use what it is bound to'),
    tools: t('Lists its tools'),
    address: t('Address is allowed'),
    dial: t('Dials the platform'),
    handshake: t('The platform begins'),
    list: t('The platform reads the tools'),
    connection: t('A device is connected'),
  }
  return words[name] ?? name
}
