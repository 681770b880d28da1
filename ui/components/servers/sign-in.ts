import { html, nothing } from 'lit'
import { connectPath } from '../../api/servers.ts'
import type { ServerRecord } from '../../api/types.ts'
import { pluginPages } from '../../app/plugin-pages.ts'
import { href } from '../../app/router.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import { endsBySignIn } from './cause.ts'

/** The parts of a server that say which credentials it wants of its callers. */
type Asking = Pick<ServerRecord, 'id' | 'mine' | 'status'>

/** True when the reader has to sign in at the server, or to enter values, before it is of use. */
export function wantsSignIn({ mine, status }: Asking): boolean {
  if (mine) return mine.state !== 'active'
  return status.state === 'offline' && endsBySignIn(status.reason?.code)
}

/** True while the owner alone lacks a credential, and the reader has one: the server works for the reader. */
export function worksForReader({ mine, status }: Asking): boolean {
  return status.state === 'offline' && status.reason?.ofOwner === true && mine?.state === 'active'
}

/** The page at which the reader signs in; undefined where the reader cannot. Readers with the role `use` get no id of the server. */
export function signInPath({ id, mine }: Asking): string | undefined {
  if (!pluginPages.has('connections')) return undefined
  const found =
    id ??
    URL.parse(mine?.connectUrl ?? '')
      ?.pathname.split('/')
      .at(-1)
  return found === undefined ? undefined : connectPath(decodeURIComponent(found))
}

/** The way to the reader's own sign-in at a server that asks for one. */
export function signInLink(server: ServerRecord): unknown {
  const isNeeded = wantsSignIn(server)
  const path = signInPath(server)
  if (path === undefined || !(isNeeded || server.credentials !== undefined)) return nothing
  return html`<a class="btn ${isNeeded ? 'pri' : ''}" href=${href(path)}>${icon('key')}${t('Sign in')}</a>`
}

/** Why a server of somebody else has no tools for the reader, or works although it is offline for its owner. */
export function signInNote(server: ServerRecord, isOwn: boolean): unknown {
  if (isOwn) return nothing
  const { owner } = server
  if (worksForReader(server))
    return html`<div class="callout ok" role="status">${icon('circle-check')}<p>${t('It works for you with your own sign-in. {owner} has not signed in, so it is offline for {owner} alone.', { owner })}</p></div>`
  if (!server.mine || !wantsSignIn(server)) return nothing
  const path = signInPath(server)
  return html`<div class="callout warn" role="status">${icon('key')}<p class="grow"><b>${t('It wants each of its users to sign in.')}</b> ${t('Your calls carry your own account there. Until you have signed in, it lists no tools for you.')}</p>${
    path === undefined ? nothing : html`<a class="btn sm pri" href=${href(path)}>${icon('key')}${t('Sign in')}</a>`
  }</div>`
}
