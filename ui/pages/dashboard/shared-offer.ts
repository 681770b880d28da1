import { html, nothing } from 'lit'
import { type GroupRecord, refOf, type ServerRecord } from '../../api/types.ts'
import { href } from '../../app/router.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'

/** Rows that are shown; further ones are in the lists. */
const MOST = 5

/** Groups and servers that others share with a new user, who needs none of their own to begin; nothing while there are none. */
export function sharedOffer(groups: readonly GroupRecord[], servers: readonly ServerRecord[]): unknown {
  if (groups.length + servers.length === 0) return nothing
  const rows = [...groups.map(groupRow), ...servers.map(serverRow)]
  return html`<section class="card"><div class="ch line"><h2>${t('Shared with you')}</h2><span class="r"><a href=${href(groups.length > 0 ? '/groups' : '/servers', { scope: 'shared' })}>${t('Show all')}</a></span></div>
    <ul class="list">${rows.slice(0, MOST)}</ul></section>`
}

function groupRow(group: GroupRecord): unknown {
  const path = `/groups/${encodeURIComponent(refOf(group))}`
  return html`<li>${icon('cable')}<span class="tx"><span class="t1"><a class="cut" href=${href(path)}>${group.name}</a></span><span class="t2">${by(group)}</span></span>
    <a class="btn sm" href=${href(path, { connect: 'claude-desktop' })}>${icon('plug')}${t('Connect a client')}</a></li>`
}

function serverRow(server: ServerRecord): unknown {
  const path = `/servers/${encodeURIComponent(refOf(server))}`
  return html`<li>${icon('server')}<span class="tx"><span class="t1"><a class="cut" href=${href(path)}>${server.name}</a></span><span class="t2">${by(server)}</span></span>
    <a class="btn sm" href=${href(path, { tab: 'tools' })}>${icon('play')}${t('Try a tool')}</a></li>`
}

function by({ owner, description }: GroupRecord | ServerRecord): string {
  const name = t('by {name}', { name: owner })
  return description ? `${name} · ${description}` : name
}
