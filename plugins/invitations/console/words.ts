import { href, t } from 'patchbay/console'
import type { InvitedRole, InvitedThing } from './api.ts'

/** The rights of a role in one sentence. */
export function roleText(role: InvitedRole): string {
  if (role === 'use') return t('use: list its tools and call them')
  return role === 'see'
    ? t('see: use it, and read its settings without secrets')
    : t('change: see it, start, stop and edit it')
}

/** A thing in words. */
export function thingText({ kind, name }: InvitedThing): string {
  return kind === 'group' ? t('group {name}', { name }) : t('server {name}', { name })
}

/** The page of a thing. */
export function thingPage({ kind, ref }: InvitedThing): string {
  return href(`/${kind}s/${encodeURIComponent(ref)}`)
}
