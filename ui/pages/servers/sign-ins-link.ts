import { html, nothing } from 'lit'
import { pluginPages } from '../../app/plugin-pages.ts'
import { href } from '../../app/router.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'

/** The way to the sign-ins at servers; nothing while the plugin for them is off. */
export function signInsLink(): unknown {
  if (!pluginPages.has('connections')) return nothing
  return html`<span class="wide"><a class="btn" href=${href('/connections')}>${icon('key')}${t('Sign-ins at servers')}</a></span>`
}
