import { approvals } from '../../plugins/approvals/console/mod.ts'
import { bundles } from '../../plugins/bundles/console/mod.ts'
import { guards } from '../../plugins/guards/console/mod.ts'
import { invitations } from '../../plugins/invitations/console/mod.ts'
import { logs } from '../../plugins/log-database/console/mod.ts'
import { market } from '../../plugins/market/console/mod.ts'
import { oauthClient } from '../../plugins/oauth-client/console/mod.ts'
import { oauthServer } from '../../plugins/oauth-server/console/mod.ts'
import { usage } from '../../plugins/quotas/console/mod.ts'
import { signIn } from '../../plugins/sign-in/console/mod.ts'
import { t } from '../text/t.ts'
import type { ConsolePart, Piece, SignInParts } from './part.ts'
import { pluginPages } from './plugin-pages.ts'

/** The pages of bundled plugins that are built with the console: the one place that lists them. */
export const parts: readonly ConsolePart[] = [
  approvals,
  bundles,
  guards,
  invitations,
  logs,
  market,
  oauthClient,
  oauthServer,
  signIn,
  usage,
].map(make => make({ t }))

/** The pieces for a slot whose plugins run. */
export function piecesOf(slot: Piece['slot']): readonly Piece[] {
  const all = parts.flatMap(({ pieces = [] }) => pieces)
  return all.filter(piece => piece.slot === slot && pluginPages.has(piece.page))
}

/** The plugin of a piece that it does not have now, by the piece's slot and id; undefined if none is known by this id. */
export function pieceClosedBy(slot: Piece['slot'], id: string): string | undefined {
  return parts.find(({ pieces = [] }) =>
    pieces.some(piece => piece.slot === slot && piece.id === id && !pluginPages.has(piece.page)),
  )?.plugin
}

/** The parts of the sign-in page besides the password; undefined if no plugin of the console has it. */
export function signInParts(): Promise<SignInParts | undefined> {
  return parts.find(({ signIn }) => signIn)?.signIn?.() ?? Promise.resolve(undefined)
}
