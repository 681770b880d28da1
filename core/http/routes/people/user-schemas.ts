import { z } from 'zod'
import type { UserRecord } from '../../../registry/api.ts'
import { timestamp } from '../schemas.ts'

/** What an administrator gave a user beyond what everybody has. */
export const userGrants = z.strictObject({
  network: z.enum(['none', 'proxy']).meta({
    description: 'The most that the network of sandboxed servers of this user may be. Default none',
  }),
})

export const user = z.object({
  id: z.string(),
  name: z.string(),
  role: z.enum(['admin', 'user']),
  disabled: z.boolean(),
  mustChangePassword: z.boolean(),
  grants: userGrants,
  origin: z.enum(['file', 'store']),
  revision: z.number().int(),
  createdAt: timestamp,
  updatedAt: timestamp,
})

export const exampleUser = {
  id: '01JD7C0A11',
  name: 'ada',
  role: 'admin',
  disabled: false,
  mustChangePassword: false,
  grants: { network: 'none' },
  origin: 'store',
  revision: 1,
  createdAt: '2026-11-21T09:30:00.000Z',
  updatedAt: '2026-11-21T09:30:00.000Z',
}

export const session = z.object({ token: z.string(), expiresAt: timestamp, user })

export const exampleSession = {
  token: 'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIwMUpEN0MwQTExIn0.c2lnbmF0dXJl',
  expiresAt: '2026-11-21T21:30:00.000Z',
  user: exampleUser,
}

/** The number of a user's process uid and the epoch of the tokens are the hub's own matter. */
export function userView(record: UserRecord): z.infer<typeof user> {
  const { id, name, role, disabled, mustChangePassword, grants, origin, revision, createdAt, updatedAt } = record
  return { id, name, role, disabled, mustChangePassword, grants, origin, revision, createdAt, updatedAt }
}
