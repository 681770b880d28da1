import { html, type TemplateResult } from 'lit'
import { api } from '../../api/client.ts'
import { asApiError } from '../../api/problem.ts'
import { readAll } from '../../api/servers.ts'
import { type GroupRecord, refOf, type ServerRecord } from '../../api/types.ts'
import { live } from '../../app/live.ts'
import { router } from '../../app/router.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import { toast } from '../layers/toast.ts'
import { errorText } from '../states.ts'

/** The name of the group that the button makes. */
const NAME = 'all'

/** True when the only own group is the one that was created with the sample server. */
export function onlySample(groups: readonly GroupRecord[]): boolean {
  return groups.every(({ name }) => name === 'sample')
}

/** Makes one group of all own servers that are online, and opens it. */
export function groupOnlineButton(primary = true): TemplateResult {
  return html`<button type="button" class="btn ${primary ? 'pri' : ''}" ?disabled=${!live.reachable} @click=${groupOnline}>${icon('cable')}${t('Group all online servers')}</button>`
}

async function groupOnline(): Promise<void> {
  try {
    const servers = await readAll<ServerRecord>('/api/servers', { scope: 'mine', state: 'online' })
    if (servers.length === 0) return toast(t('No server is online. Start one first.'))
    const group = await api.post<GroupRecord>('/api/groups', { body: { name: NAME, members: servers.map(refOf) } })
    void router.go(`/groups/${encodeURIComponent(group.ref)}`)
  } catch (error) {
    toast(errorText(asApiError(error)))
  }
}
