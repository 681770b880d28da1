import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

/** The way in which a device answers, where it is not the right one. */
export interface Wrong {
  readonly origin?: string
  readonly rpId?: string
  readonly counter?: number
  readonly isVerified?: boolean
  readonly userHandle?: string
  readonly id?: string
  readonly crossOrigin?: boolean
  readonly challenge?: string
  readonly format?: string
}

const FLAGS = { present: 1, verified: 4, attested: 64 }

/** A device with one passkey, in software: it answers what a browser at `origin` would ask it. */
export class Authenticator {
  readonly origin: string
  id = randomBytes(32).toString('base64url')
  counter = 0
  #userHandle = ''
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })

  constructor(origin: string) {
    this.origin = origin
  }

  /** Makes the passkey, as `navigator.credentials.create` answers. */
  create(
    { challenge, user }: { readonly challenge: string; readonly user: { readonly id: string } },
    wrong: Wrong = {},
  ) {
    this.#userHandle = user.id
    const { x, y } = this.#keys.publicKey.export({ format: 'jwk' })
    const key = cbor(
      new Map<number, unknown>([
        ...([
          [1, 2],
          [3, -7],
          [-1, 1],
        ] as const),
        [-2, Buffer.from(x as string, 'base64url')],
        [-3, Buffer.from(y as string, 'base64url')],
      ]),
    )
    const id = Buffer.from(wrong.id ?? this.id, 'base64url')
    const length = Buffer.alloc(2)
    length.writeUInt16BE(id.length)
    const attested = Buffer.concat([Buffer.alloc(16), length, id, key])
    const authData = Buffer.concat([this.#head(wrong, FLAGS.attested), attested])
    const statement = wrong.format === undefined ? new Map() : new Map([['x5c', [Buffer.from('a certificate')]]])
    const attestation = cbor(
      new Map<string, unknown>([
        ['fmt', wrong.format ?? 'none'],
        ['attStmt', statement],
        ['authData', authData],
      ]),
    )
    const clientDataJSON = this.#clientData('webauthn.create', challenge, wrong)
    const response = { clientDataJSON, attestationObject: attestation.toString('base64url'), transports: ['internal'] }
    return { id: id.toString('base64url'), rawId: id.toString('base64url'), type: 'public-key', response }
  }

  /** Answers, as `navigator.credentials.get` does. */
  get({ challenge }: { readonly challenge: string }, wrong: Wrong = {}) {
    const authData = this.#head(wrong, 0)
    const clientDataJSON = this.#clientData('webauthn.get', challenge, wrong)
    const hash = createHash('sha256').update(Buffer.from(clientDataJSON, 'base64url')).digest()
    const signature = sign('sha256', Buffer.concat([authData, hash]), this.#keys.privateKey)
    const id = wrong.id ?? this.id
    return {
      ...{ id, rawId: id, type: 'public-key', clientExtensionResults: {} },
      response: {
        ...{ clientDataJSON, authenticatorData: authData.toString('base64url') },
        ...{ signature: signature.toString('base64url'), userHandle: wrong.userHandle ?? this.#userHandle },
      },
    }
  }

  #head({ rpId = new URL(this.origin).hostname, isVerified = true, counter }: Wrong, more: number): Buffer {
    const head = Buffer.alloc(37)
    createHash('sha256').update(rpId).digest().copy(head)
    head[32] = FLAGS.present + (isVerified ? FLAGS.verified : 0) + more
    head.writeUInt32BE(counter ?? this.counter, 33)
    return head
  }

  #clientData(type: string, challenge: string, { origin = this.origin, crossOrigin = false, ...wrong }: Wrong): string {
    const data = { type, challenge: wrong.challenge ?? challenge, origin, crossOrigin }
    return Buffer.from(JSON.stringify(data)).toString('base64url')
  }
}

/** The few kinds of CBOR that a passkey has. */
function cbor(value: unknown): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value)
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(cbor)])
  const entries = [...(value as ReadonlyMap<unknown, unknown>)]
  return Buffer.concat([head(5, entries.length), ...entries.flatMap(([key, item]) => [cbor(key), cbor(item)])])
}

function head(kind: number, size: number): Buffer {
  if (size < 24) return Buffer.from([(kind << 5) + size])
  if (size < 256) return Buffer.from([(kind << 5) + 24, size])
  const bytes = Buffer.from([(kind << 5) + 25, 0, 0])
  bytes.writeUInt16BE(size, 1)
  return bytes
}
