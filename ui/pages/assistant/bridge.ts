import { html, nothing, type TemplateResult } from 'lit'
import type { AssistantBridge, SettingSource } from '../../api/assistant.ts'
import { mark } from '../../components/servers/status.ts'
import { icon } from '../../text/icon.ts'
import { fieldText } from '../../text/problem.ts'
import { t } from '../../text/t.ts'
import '../../components/copy.ts'

/** Card with the state of the service for assistants, the sources of its settings, and the address for devices. */
export function bridgeCard({
  enabled,
  source,
  variable,
  hasBridge,
  apiKey,
  socket,
  fileProblems = [],
}: AssistantBridge) {
  return html`<section class="card"><div class="ch"><h2>${t('Assistants on this hub')}</h2><div class="r">${servedMark(enabled, hasBridge)}</div></div>
    <div class="cb stack">${
      enabled && !hasBridge
        ? html`<p class="s warn-t">${t('No plugin that serves assistants is running.')}</p>`
        : nothing
    }<dl class="kv"><dt>${t('Served')}</dt><dd class="row wrap">${enabled ? t('on') : t('off')} ${origin(source, variable)}</dd>
      <dt>${t('Key for all inbound endpoints')}</dt><dd class="row wrap">${apiKey.set ? t('set') : t('not set')} ${origin(apiKey.source, apiKey.variable)}</dd>
      <dt>${t('Devices dial')}</dt><dd class="row"><span class="mono wrapx">${socket}</span> <pb-copy .text=${socket} .label=${t('Copy the address that devices dial')}></pb-copy></dd></dl>${
        fileProblems.length === 0
          ? nothing
          : html`<div class="callout bad">${icon('circle-x')}<div class="grow"><p><b>${t('The settings file has endpoints that cannot be used.')}</b></p><ul>${fileProblems.map(problem => html`<li><span class="mono">${problem.pointer}</span>: ${fieldText(problem)}</li>`)}</ul></div></div>`
      }</div></section>`
}

function servedMark(enabled: boolean, hasBridge: boolean): TemplateResult {
  if (!enabled) return mark('rest', 'circle-minus', t('Off'))
  return hasBridge ? mark('ok', 'circle-check', t('On')) : mark('bad', 'circle-x', t('Not served'))
}

function origin(source: SettingSource, variable: string): unknown {
  if (source === 'default') return html`<span class="q xs">${t('set it by {variable}', { variable })}</span>`
  const word = source === 'env' ? t('From the environment') : t('From the settings file')
  return html`<span class="tag line">${icon('lock')}${word}</span> <span class="mono xs q">${variable}</span>`
}
