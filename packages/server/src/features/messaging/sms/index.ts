export { createSmsProvider, type SmsDeps } from './create-provider.ts'
export { isCountryAllowed, maskPhone, type ParsedPhone, parsePhone, parseTestNumbers } from './phone.ts'
export { type SmsProvider, SmsRefused, type TextMessage } from './provider.ts'
