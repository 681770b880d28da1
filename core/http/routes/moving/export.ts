import { z } from 'zod'
import type { UserActor } from '../../../contract/records.ts'
import { validationError } from '../../../domain/validation-error.ts'
import type { ExportService } from '../../../moving/export.ts'
import { PASSPHRASE_CHARACTERS } from '../../../moving/passphrase.ts'
import type { Registry } from '../../../registry/api.ts'
import { type Route, route } from '../../route.ts'
import { requireRecentSignIn } from '../people/recent-sign-in.ts'
import { anyObject } from '../schemas.ts'

/** Dependencies of exports. */
export interface ExportRoutesDeps {
  readonly registry: Pick<Registry, 'audit' | 'settings'>
  readonly exports: ExportService
}

const example = {
  ...{ format: 'patchbay-export', version: 1, hub: '1.1.0', owner: 'ada', createdAt: '2026-11-24T09:30:00.000Z' },
  servers: { time: { transport: 'stdio', command: 'uvx', env: { API_KEY: '<secret:/servers/time/env/API_KEY>' } } },
  ...{
    groups: {},
    settings: { theme: 'dark' },
    channels: {},
    rules: {},
    dashboards: {},
    endpoints: {},
    hostedKeys: {},
    sha256: '0f5d…',
  },
}

/** A user's own things as a file for another hub. */
export function exportRoutes({ registry, exports }: ExportRoutesDeps): Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/export',
      access: 'user',
      summary:
        'Your servers, groups, settings, alert rules, channels, dashboards and assistant endpoints, for POST /api/import of another hub',
      tag: 'moving',
      body: z
        .strictObject({
          passphrase: z
            .string()
            .max(1_024)
            .optional()
            .meta({ description: 'Seals your secrets into the file; needs a sign-in of the last five minutes' }),
        })
        .meta({ examples: [{}] }),
      responses: { 200: { description: 'The export', schema: anyObject, example } },
      async handle({ actor, body: { passphrase }, info, take }) {
        if (passphrase !== undefined) checkPassphrase(actor, passphrase)
        // Charged before anything is read: a refused export has cost no memory.
        take((await registry.settings.storedBytes(actor.userId)).total)
        const text = await exports.make(actor, passphrase)
        const detail = { sealed: passphrase !== undefined }
        registry.audit.record(actor, {
          action: 'export',
          target: actor.name,
          ownerId: actor.userId,
          request: info,
          detail,
        })
        return { text, headers: { 'content-disposition': 'attachment; filename="patchbay-export.json"' } }
      },
    }),
  ]
}

/** A person who finds an open session must not get the secrets. */
function checkPassphrase(actor: UserActor, passphrase: string): void {
  requireRecentSignIn(actor)
  const characters = [...passphrase].length
  if (characters >= PASSPHRASE_CHARACTERS) return
  const detail = `The passphrase has ${characters} characters; at least ${PASSPHRASE_CHARACTERS} are needed`
  throw validationError([{ pointer: '#/passphrase', code: 'length', detail }])
}
