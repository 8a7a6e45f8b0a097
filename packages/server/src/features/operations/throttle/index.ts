export { createSlots, type Slots } from './slots.ts'
export {
  type AttemptLimit,
  createThrottle,
  defineThrottleHousekeeping,
  deleteEndedWindows,
  perAddress,
  requireAllowed,
  type Throttle,
} from './throttle.ts'
