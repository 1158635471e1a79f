export { startObserver } from './observer.ts';
