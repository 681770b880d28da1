import { html, nothing } from 'lit'
import { asApiError } from '../../api/problem.ts'
import { type Shared, sharing } from '../../api/sharing.ts'
import type { ShareRole, ThingRole } from '../../api/types.ts'
import { live } from '../../app/live.ts'
import { router } from '../../app/router.ts'
import { session } from '../../app/session.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import { confirmed } from '../layers/confirm.ts'
import { toast } from '../layers/toast.ts'
import { errorText } from '../states.ts'
import { roleText, roleWord } from './roles.ts'

/**
 * The reader's role for a server or group of somebody else, with a way to leave it; nothing for its owner and administrators.
 * `visibility` is unknown of servers with the role `use`.
 */
export function sharedNote(thing: Shared, role: ThingRole | undefined, visibility: string | undefined): unknown {
  if (role === undefined || role === 'owner') return nothing
  const isForAll = role === 'use' && visibility === 'public'
  return html`<div class="callout shared">${icon('users-round')}<p class="grow"><b>${noteText(thing.owner, role, visibility)}</b> ${roleText(role)}</p>${
    isForAll
      ? nothing
      : html`<button type="button" class="btn sm" ?disabled=${!live.reachable} @click=${() => void leave(thing)}>${icon('log-out')}${t('Leave')}</button>`
  }</div>`
}

function noteText(owner: string, role: ShareRole, visibility: string | undefined): string {
  if (role !== 'use' || visibility === 'private')
    return t('Shared with you by {owner}: {role}.', { owner, role: roleWord(role) })
  return visibility === 'public'
    ? t('It belongs to {owner}, and everybody on this hub may use it.', { owner })
    : t('It belongs to {owner}, who lets you use it.', { owner })
}

async function leave(thing: Shared): Promise<void> {
  const { name, owner, kind } = thing
  const yes = await confirmed({
    title: t('Leave {name}?', { name }),
    text: t('Your clients lose its tools at once. Only {owner} can share it with you again.', { owner }),
    action: t('Leave'),
  })
  if (!yes) return
  try {
    await sharing.remove(thing, `user:${session.user?.name ?? ''}`)
    toast(t('{name} is no longer shared with you', { name }))
    await router.go(`/${kind}s`, { replace: true })
  } catch (error) {
    const problem = asApiError(error)
    toast(
      problem.code === 'share_not_found'
        ? t('You have it by a team or as everybody has it: there is no share of your own to leave.')
        : errorText(problem),
    )
  }
}
