import { z } from 'zod'
import type { UserRecord } from '../../../registry/api.ts'
import type { Possessions } from '../../../registry/people-api.ts'
import { timestamp } from '../schemas.ts'

/** Rights that administrators grant to a user beyond the default. */
export const userGrants = z.strictObject({
  network: z.enum(['none', 'proxy']).meta({
    description: 'The most that the network of sandboxed servers of this user may be. Default none',
  }),
})

/** A user in a response, without the password hash. */
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

/** A user in a list, with the number of things that the user has. */
export const userWithPossessions = user.extend({
  has: z.object({
    servers: z.number().int(),
    groups: z.number().int(),
    keys: z.number().int(),
    signIns: z.number().int().meta({ description: 'Open ones' }),
  }),
  lastSeenAt: timestamp.nullable().meta({ description: 'Last use of a sign-in or of a key, to the minute' }),
})

/** The example in the API document. */
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

/** The example of a user in a list. */
export const exampleUserWithPossessions = {
  ...exampleUser,
  has: { servers: 12, groups: 3, keys: 2, signIns: 1 },
  lastSeenAt: '2026-11-21T11:02:00.000Z',
}

/** A session token with its user, as a sign-in returns it. */
export const session = z.object({ token: z.string(), expiresAt: timestamp, user })

/** The proof that a user with a second factor must give. */
export const askedProof = z.object({
  secondFactor: z.object({
    ticket: z.string(),
    methods: z.array(z.string()),
    expiresAt: timestamp,
  }),
})

/** The answer of a sign-in: a session, or the proof that it still needs. */
export const signedIn = z.union([session, askedProof])

/** The example in the API document. */
export const exampleSession = {
  token: 'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIwMUpEN0MwQTExIn0.c2lnbmF0dXJl',
  expiresAt: '2026-11-21T21:30:00.000Z',
  user: exampleUser,
}

/** Leaves out the uid number and the token epoch, which are internal. */
export function userView(record: UserRecord): z.infer<typeof user> {
  const { id, name, role, disabled, mustChangePassword, grants, origin, revision, createdAt, updatedAt } = record
  return { id, name, role, disabled, mustChangePassword, grants, origin, revision, createdAt, updatedAt }
}

/** Returns the view of a user with the number of things that the user has. */
export function userWithPossessionsView(
  record: UserRecord,
  possessions: Possessions | undefined,
): z.infer<typeof userWithPossessions> {
  const { lastSeenAt = null, ...has } = possessions ?? { servers: 0, groups: 0, keys: 0, signIns: 0 }
  return { ...userView(record), has, lastSeenAt }
}
