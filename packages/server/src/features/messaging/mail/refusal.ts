/** Error for a final refusal: the address, the mail or its sender is rejected, and another attempt would fail too. */
export class MailRefused extends Error {
  override readonly name = 'MailRefused'
}
