import { html, nothing, type TemplateResult } from 'lit'
import { segment } from '../../api/client.ts'
import type { GroupRecord } from '../../api/types.ts'
import { logLink } from '../../components/log-link.ts'
import { tagsOf } from '../../components/tags.ts'
import { t } from '../../text/t.ts'
import './tools.ts'

/** A group for a reader with the role `use`: its texts, its tools to try, and its addresses. Its settings are not shown. */
export function readerView(group: GroupRecord, query: URLSearchParams): TemplateResult {
  return html`${about(group)}<pb-group-tools .group=${group} .query=${query}></pb-group-tools>${addresses(group)}`
}

function about({ description = '', instructions, tags = [] }: GroupRecord): unknown {
  if (description === '' && instructions === undefined && tags.length === 0) return nothing
  return html`<section class="card"><div class="cb padt"><dl class="kv">${
    description === '' ? nothing : html`<dt>${t('Description')}</dt><dd>${description}</dd>`
  }${
    instructions === undefined
      ? nothing
      : html`<dt>${t('Instructions for clients')}</dt><dd class="pre">${instructions.text}</dd>`
  }${tags.length === 0 ? nothing : html`<dt>${t('Tags')}</dt><dd>${tagsOf(tags)}</dd>`}</dl></div></section>`
}

/** The group's other addresses. */
export function addresses({ endpoint, ref, name }: GroupRecord): TemplateResult {
  const smart = endpoint.replace('/mcp/', '/mcp/$smart/')
  const rest = `${endpoint.slice(0, endpoint.indexOf('/mcp/'))}/api/groups/${segment(ref)}`
  const line = (word: string, hint: string, address: string): TemplateResult =>
    html`<div><h3 class="sech">${word}</h3><div class="copyline"><span class="cut" title=${address}>${address}</span><pb-copy .text=${address} label=${t('Copy: {what}', { what: word })}></pb-copy></div><p class="xs q">${hint}</p></div>`
  return html`<section class="card"><div class="ch line"><h2>${t('Addresses')}</h2></div><div class="cb stack padt">${line(t('MCP'), t('For clients.'), endpoint)}${line(t('Smart'), t('A client searches for tools in place of listing all of them.'), smart)}${line('OpenAPI', t('The tools as plain HTTP, for programs that do not speak MCP.'), `${rest}/openapi.json`)}
    <p class="s">${logLink({ q: `group:${name}` }, t('Logs of this group'))}</p></div></section>`
}
