/** Trying again would end the same: the address, the mail or its sender is not wanted. */
export class MailRefused extends Error {
  override readonly name = 'MailRefused'
}
