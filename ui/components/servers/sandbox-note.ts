import { html } from 'lit'
import { hubState } from '../../app/hub-state.ts'
import { session } from '../../app/session.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'

/** Note about the user that a program will run as, shown before anything is entered. */
export function sandboxNote(): unknown {
  if (session.isAdmin)
    return html`<div class="callout">${icon('shield-alert')}<p>${t('Runs on this machine as the hub itself, outside of the sandbox, since you are an administrator. “sandbox”: “full” in its configuration puts it inside.')}</p></div>`
  if (hubState.info?.features.sandbox === false)
    return html`<div class="callout warn">${icon('shield-x')}<p>${t('Programs cannot run here: this machine has no sandbox for them. Add a server by its address, or ask an administrator.')}</p></div>`
  return html`<div class="callout">${icon('shield-check')}<p>${t('Runs as a user of its own in the sandbox: its own folder, and no network unless an administrator has granted it to you.')}</p></div>`
}
