import { createHash, randomBytes, randomUUID } from 'node:crypto'
import type { Tables } from './tables.ts'
import { base32 } from './totp.ts'

const NUMBER = 10
/** 80 bits. */
const BYTES = 10

/** Ten new codes in place of those that the user had; only their hashes are stored. */
export async function newRecoveryCodes(tables: Tables, userId: string): Promise<readonly string[]> {
  const codes = Array.from({ length: NUMBER }, () => base32(randomBytes(BYTES)).toLowerCase())
  const rows = codes.map(code => ({ id: randomUUID(), user_id: userId, hash: hashOf(userId, code) }))
  await tables.write(async db => {
    await db.deleteFrom('recovery_codes').where('user_id', '=', userId).execute()
    await db.insertInto('recovery_codes').values(rows).execute()
  })
  return codes.map(code => (code.match(/.{4}/g) as string[]).join('-'))
}

/** Uses a code up; false when the user has no such code any more. */
export async function takeRecoveryCode(tables: Tables, userId: string, given: string): Promise<boolean> {
  const hash = hashOf(userId, given.toLowerCase().replace(/[^a-z2-7]/g, ''))
  const taken = await tables.write(db =>
    db.deleteFrom('recovery_codes').where('user_id', '=', userId).where('hash', '=', hash).executeTakeFirst(),
  )
  return Number(taken.numDeletedRows) === 1
}

/** Number of codes that a user has left. */
export async function recoveryCodesLeft(tables: Tables, userId: string): Promise<number> {
  const { left } = await tables.read(db =>
    db
      .selectFrom('recovery_codes')
      .select(eb => eb.fn.countAll<number>().as('left'))
      .where('user_id', '=', userId)
      .executeTakeFirstOrThrow(),
  )
  return Number(left)
}

/** The code has 80 random bits, so that a fast hash keeps it. Found by the hash, a comparison tells nothing of the code. */
function hashOf(userId: string, code: string): string {
  return createHash('sha256').update(`${userId} ${code}`).digest('hex')
}
