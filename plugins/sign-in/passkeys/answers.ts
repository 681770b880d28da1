import { z } from 'zod'

const text = (most: number) =>
  z
    .string()
    .min(1)
    .max(most)
    .regex(/^[A-Za-z0-9_-]+$/)
const id = text(1_400)

/** Members that `PublicKeyCredential.toJSON()` has, and that are not read. */
const unread = {
  rawId: id.optional(),
  type: z.literal('public-key').optional(),
  authenticatorAttachment: z.string().max(32).nullish(),
  clientExtensionResults: z.looseObject({}).optional(),
}

/** A new passkey, in the form of `PublicKeyCredential.toJSON()`. */
export const newPasskey = z.strictObject({
  ...unread,
  id,
  response: z.strictObject({
    clientDataJSON: text(4_096),
    attestationObject: text(8_192),
    transports: z
      .array(z.string().regex(/^[a-z-]{1,16}$/))
      .max(8)
      .optional(),
    authenticatorData: z.string().max(8_192).optional(),
    publicKey: z.string().max(8_192).optional(),
    publicKeyAlgorithm: z.number().int().optional(),
  }),
})

/** The answer of a passkey, in the same form. */
export const passkeyAnswer = z.strictObject({
  ...unread,
  id,
  response: z.strictObject({
    clientDataJSON: text(4_096),
    authenticatorData: text(4_096),
    signature: text(2_048),
    userHandle: text(128).nullish(),
  }),
})

/** A new passkey, as it was sent. */
export type NewPasskey = z.infer<typeof newPasskey>
/** The answer of a passkey, as it was sent. */
export type PasskeyAnswer = z.infer<typeof passkeyAnswer>

/** The challenge that an answer is to; undefined for an answer of another form, and for one from inside a page of another site. */
export function challengeOf(clientDataJSON: string): string | undefined {
  try {
    const data: unknown = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString())
    const { challenge, crossOrigin } = data as { readonly challenge?: unknown; readonly crossOrigin?: unknown }
    return typeof challenge === 'string' && crossOrigin !== true ? challenge : undefined
  } catch {
    return undefined
  }
}
