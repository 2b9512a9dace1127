"""CTranslate2, the fastest engine on a CPU: conversion of a model, the converted models that are open, the engine."""
