import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'

/** Encryption of small secrets for the database (AES-256-GCM). Keys can be rotated one at a time. */
export interface SecretBox {
  /**
   * Encrypts a secret.
   *
   * @param context identifies its row; a box that was moved to another row cannot be opened
   */
  seal(secret: Buffer, context: string): string
  /** Decrypts a box. Returns undefined when none of the keys sealed it, or for another context. */
  open(box: string, context: string): Buffer | undefined
  /** Returns true if an earlier key sealed the box, which should then be sealed again. */
  isOutdated(box: string): boolean
}

const nonceBytes = 12
const tagBytes = 16

/** Creates a box. @param keys 32 bytes each; the first one seals, all of them open */
export function createSecretBox(keys: readonly [Buffer, ...Buffer[]]): SecretBox {
  const byId = new Map(keys.map((key) => [keyId(key), key]))
  const [current] = keys
  return {
    seal(secret, context) {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv('aes-256-gcm', current, nonce).setAAD(Buffer.from(context))
      const sealed = Buffer.concat([nonce, cipher.update(secret), cipher.final(), cipher.getAuthTag()])
      return `${keyId(current)}.${sealed.toString('base64url')}`
    },
    open(box, context) {
      const [id = '', content = ''] = box.split('.')
      const key = byId.get(id)
      const bytes = Buffer.from(content, 'base64url')
      if (key === undefined || bytes.length < nonceBytes + tagBytes) return undefined
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes))
        .setAAD(Buffer.from(context))
        .setAuthTag(bytes.subarray(-tagBytes))
      try {
        return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()])
      } catch {
        return undefined
      }
    },
    isOutdated: (box) => !box.startsWith(`${keyId(current)}.`),
  }
}

/** Returns the id of a key, which precedes everything sealed with it and discloses nothing about it. */
export function keyId(key: Buffer): string {
  return createHash('sha256').update('basalt key id').update(key).digest('base64url').slice(0, 8)
}
