import type { ReactiveControllerHost } from 'lit'
import { html, nothing, type TemplateResult } from 'lit'
import type { Endpoint } from '../../api/assistant.ts'
import { readAll } from '../../api/servers.ts'
import { type GroupRecord, refOf, type ServerRecord } from '../../api/types.ts'
import { Resource } from '../../app/resource.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'

/** Target for everything that the owner may use, by search. */
const ALL = '$smart'

/** Things to which an endpoint can be bound. */
export type Targets = Resource<readonly Target[]>

interface Target {
  readonly ref: string
  readonly label: string
}

/** The groups and servers that the caller may use. */
export function targetsFor(host: ReactiveControllerHost): Targets {
  return new Resource<readonly Target[]>(host, {
    topics: ['servers'],
    read: async signal => {
      const groups = await readAll<GroupRecord>('/api/groups', {}, signal)
      const servers = await readAll<ServerRecord>('/api/servers', {}, signal)
      return [
        ...groups.map(({ ref, name }) => ({ ref, label: t('Group {name}', { name }) })),
        ...servers.map(server => ({ ref: refOf(server), label: t('Server {name}', { name: server.name }) })),
      ]
    },
  })
}

/** Fields for the offered target, whole or by search. `present`: the endpoint whose binding is chosen. */
export function targetField(
  id: string,
  targets: Targets,
  options: { readonly mistake: string | undefined; readonly present?: Endpoint; readonly isFixed?: boolean },
): TemplateResult {
  const { mistake, present, isFixed = false } = options
  const found = targets.data
  const chosen = present?.group?.replace(/^\$[^/]*\//, '')
  const isLost = present !== undefined && found !== undefined && !isKnown(chosen, found)
  return html`<div class="field grow"><label for=${id}>${t('Offers the tools of')}</label><select id=${id} name="group" class="in" required ?disabled=${isFixed}>${
    found?.length === 0 && chosen !== ALL ? html`<option value="">${t('Make a group first')}</option>` : nothing
  }${isLost ? html`<option value=${chosen ?? ''} selected>${chosen ?? t('gone')}</option>` : nothing}${found?.map(
    ({ ref, label }) => html`<option value=${ref} ?selected=${ref === chosen}>${label}</option>`,
  )}${
    found && (found.length > 0 || chosen === ALL)
      ? html`<option value=${ALL} ?selected=${chosen === ALL}>${t('All that I may use, by search')}</option>`
      : nothing
  }</select>${mistake === undefined ? nothing : html`<p class="hint bad">${icon('circle-alert')}${mistake}</p>`}
    <label class="chk"><input type="checkbox" name="smart" .checked=${present?.view === 'smart'} ?disabled=${isFixed}><span>${t('By search: three tools in place of many')}</span></label></div>`
}

function isKnown(chosen: string | undefined, found: readonly Target[]): boolean {
  return chosen === ALL || found.some(({ ref }) => ref === chosen)
}

/** The values of {@link targetField} in the form of the hub. */
export function chosenTarget(data: FormData): string {
  const chosen = String(data.get('group') ?? '')
  return data.has('smart') && chosen !== ALL ? `${ALL}/${chosen}` : chosen
}
