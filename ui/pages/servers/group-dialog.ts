import { html, type TemplateResult } from 'lit'
import type { GroupRecord, ServerRecord } from '../../api/types.ts'
import { href } from '../../app/router.ts'
import { dialog, hide } from '../../components/layers/layer.ts'
import { plural, t } from '../../text/t.ts'

/** Data and actions of the dialog. */
export interface GroupDialogOptions {
  /** Undefined: it is closed. */
  readonly servers: readonly ServerRecord[] | undefined
  /** Groups that this user may change. */
  readonly groups: readonly GroupRecord[]
  close(): void
  add(group: GroupRecord): void
}

/** Dialog for the group to which servers are added. */
export function groupDialog({ servers, groups, close, add }: GroupDialogOptions): TemplateResult {
  const count = servers?.length ?? 0
  const press = (event: Event): void => {
    const select = (event.currentTarget as Element).closest('.layer')?.querySelector('select')
    const group = groups.find(({ ref }) => ref === select?.value)
    hide(event)
    if (group) add(group)
  }
  const cancel = html`<button type="button" class="btn push" @click=${hide}>${t('Cancel')}</button>`
  const isEmpty = groups.length === 0
  return dialog({
    open: servers !== undefined,
    title: plural(count, 'Add {n} server to a group', 'Add {n} servers to a group'),
    body: isEmpty
      ? html`<p>${t('You have no group yet. A group is one address for a client, with the tools of its servers.')}</p>`
      : html`<div class="field"><label for="group-of-servers">${t('Group')}</label><select id="group-of-servers" class="in">${groups.map(
          group => html`<option value=${group.ref}>${group.name}</option>`,
        )}</select><p class="hint">${t('All their tools are added, also those that come later.')}</p></div>`,
    foot: isEmpty
      ? html`${cancel}<a class="btn pri" href=${href('/groups/new', { servers: servers?.map(({ name }) => name).join(',') })}>${t('Make a group')}</a>`
      : html`${cancel}<button type="button" class="btn pri" @click=${press}>${t('Add to group')}</button>`,
    onClose: close,
  })
}
