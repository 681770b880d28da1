import { html, type TemplateResult } from 'lit'
import type { ApiError } from '../../api/problem.ts'
import { href } from '../../app/router.ts'
import { session } from '../../app/session.ts'
import { t } from '../../text/t.ts'
import { emptyState } from '../states.ts'

/** A server or group that the page has shown, and that the reader does not see any more. */
interface Seen {
  readonly name: string
  readonly owner: string
}

/**
 * In place of the page of a server or group that is not there, or not any more; undefined for other errors. `seen`: the record
 * that the page has shown before, if there was one.
 */
export function lostThing(
  kind: 'server' | 'group',
  error: ApiError | undefined,
  seen: Seen | undefined,
): TemplateResult | undefined {
  if (error?.code !== `${kind}_not_found`) return undefined
  const isOwn = seen?.owner === session.user?.name
  const back =
    kind === 'server'
      ? html`<a class="btn pri" href=${href('/servers', { scope: seen && !isOwn ? 'shared' : undefined })}>${t('To the servers')}</a>`
      : html`<a class="btn pri" href=${href('/groups', { scope: seen && !isOwn ? 'shared' : undefined })}>${t('To the groups')}</a>`
  const { name = '', owner = '' } = seen ?? {}
  const [title, text] = !seen
    ? [
        kind === 'server' ? t('You have no such server') : t('You have no such group'),
        t('It was deleted or renamed, or it is not shared with you. Ask the person who gave you its address.'),
      ]
    : isOwn
      ? [t('{name} is gone', { name }), t('It was deleted or renamed, or it has another owner now.')]
      : [
          t('{name} is not shared with you any more', { name }),
          t(
            '{owner} has ended the share or deleted it. Your clients have lost its tools, and their calls are refused. Ask {owner} if you still need it.',
            { owner },
          ),
        ]
  return html`<section class="card" role="alert">${emptyState({ icon: 'unplug', title, text, action: back })}</section>`
}
